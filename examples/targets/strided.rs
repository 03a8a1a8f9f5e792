//! A Rust program as a target, with the standard library alone: `counterfoil check -- build/strided`. int32, uint8; views by slices; transfer; add, mul, neg, copy.
use std::{collections::HashMap, io::BufRead, rc::Rc, cell::RefCell};

// ---- JSON: what the protocol sends is sound, so nothing is checked twice; true, false and null are read as texts
enum Json { Missing, Int(i64), Text(String), List(Vec<Json>), Table(Vec<(String, Json)>) }
use Json::*;

fn space(s: &mut &[u8]) { while matches!(s.first(), Some(b' ' | b',' | b':')) { *s = &s[1..]; } }

fn text(s: &mut &[u8]) -> String { // names and hexadecimal digits: escapes are kept as they are
    let end = 1 + s[1..].iter().position(|&c| c == b'"').unwrap();
    let found = String::from_utf8_lossy(&s[1..end]).into_owned();
    *s = &s[end + 1..];
    found
}

fn items<T>(s: &mut &[u8], end: u8, item: impl Fn(&mut &[u8]) -> T) -> Vec<T> {
    let mut found = vec![];
    *s = &s[1..];
    while { space(s); s[0] != end } { found.push(item(s)); }
    *s = &s[1..];
    found
}

fn parse(s: &mut &[u8]) -> Json {
    space(s);
    match s[0] {
        b'"' => Text(text(s)),
        b'[' => List(items(s, b']', parse)),
        b'{' => Table(items(s, b'}', |s| (text(s), parse(s)))),
        _ => {
            let end = s.iter().position(|c| b",]} ".contains(c)).unwrap_or(s.len());
            let word = String::from_utf8_lossy(&s[..end]).into_owned();
            *s = &s[end..];
            word.parse().map_or(Text(word), Int)
        }
    }
}

impl Json {
    fn at(&self, key: &str) -> &Json {
        let Table(table) = self else { return &Missing };
        table.iter().find(|(name, _)| name == key).map_or(&Missing, |(_, found)| found)
    }
    fn text(&self) -> &str { if let Text(text) = self { text } else { "" } }
    fn list(&self) -> &[Json] { if let List(list) = self { list } else { &[] } }
    fn name(&self) -> &str { self.at("ref").text() }
    fn ints(&self) -> Option<Vec<i64>> { // None: one of them is past 53 bits, and none of this program's
        self.list().iter().map(|each| if let Int(n) = each { Some(*n) } else { None }).collect()
    }
}

// ---- arrays
#[derive(Clone)]
struct Array { byte: bool, shape: Vec<i64>, strides: Vec<i64>, offset: i64, memory: Rc<RefCell<Vec<u32>>> }

impl Array {
    fn new(byte: bool, shape: &[i64]) -> Array {
        let strides = (1..=shape.len()).map(|k| shape[k..].iter().product()).collect();
        let memory = Rc::new(RefCell::new(vec![0; shape.iter().product::<i64>() as usize]));
        Array { byte, shape: shape.to_vec(), strides, offset: 0, memory }
    }
    /// The places of the elements in C order.
    fn places(&self) -> Vec<usize> {
        let mut found = vec![self.offset];
        for (extent, stride) in self.shape.iter().zip(&self.strides) {
            found = found.iter().flat_map(|at| (0..*extent).map(move |i| at + i * stride)).collect();
        }
        found.iter().map(|&at| at as usize).collect()
    }
    /// Whether the two share an element without being identical.
    fn overlaps(&self, other: &Array) -> bool {
        let (mine, others) = (self.places(), other.places());
        Rc::ptr_eq(&self.memory, &other.memory) && (self.shape != other.shape || mine != others)
            && others.iter().any(|at| mine.contains(at))
    }
    fn set(&self, at: usize, value: u32) { self.memory.borrow_mut()[at] = if self.byte { value & 255 } else { value }; }
}

/// What came of a step: the outcome as JSON, or the rule that refuses, or why it is skipped.
type Done = Result<String, &'static str>;
const PAST: &str = "numbers past 53 bits and larger arrays";
fn value(json: &str) -> Done { Ok(format!(r#"{{"is":"value","value":{json}}}"#)) }

fn from_values(args: &Json) -> Result<Array, &'static str> {
    let shape = args.at("shape").ints().ok_or(PAST)?;
    if shape.len() > 32 { return Err("layouts/rank"); }
    if shape.iter().any(|&extent| extent < 0) { return Err("layouts/negative-extent"); }
    let product = shape.iter().try_fold(1i64, |sum, &extent| sum.checked_mul(extent.max(1))).unwrap_or(i64::MAX);
    if product > 1 << 53 { return Err("layouts/too-many-elements"); }
    let (values, size) = (args.at("values").list(), shape.iter().product::<i64>());
    if !matches!(args.at("values"), Missing) && values.len() as i64 != size { return Err("arrays/values-count"); }
    if size > 1 << 20 { return Err(PAST); }
    let made = Array::new(args.at("dtype").text() == "uint8", &shape);
    let range = if made.byte { 0..=255 } else { i32::MIN as i64..=i32::MAX as i64 };
    for (at, each) in values.iter().enumerate() {
        match each {
            Int(n) if range.contains(n) => made.set(at, *n as u32),
            Int(_) => return Err("dtypes/value-range"),
            Table(table) if table[0].0 == "int" => return Err("dtypes/value-range"),
            _ => return Err("dtypes/value-type"),
        }
    }
    Ok(made)
}

fn moved(from: &Array, asked: &Json) -> Result<Array, &'static str> {
    let mut to = from.clone();
    let List(ranges) = asked.at("slice") else { return Err("no such move") };
    if ranges.len() != from.shape.len() { return Err("moves/slice-ranges"); }
    for (k, range) in ranges.iter().enumerate() {
        let &[start, count, step] = range.ints().ok_or(PAST)?.as_slice() else { return Err(PAST) };
        let is_outside = |at: i128| count > 0 && !(0..from.shape[k] as i128).contains(&at);
        if step == 0 { return Err("moves/slice-step"); }
        if count < 0 { return Err("moves/slice-count"); }
        if is_outside(start as i128) { return Err("moves/slice-start"); }
        if is_outside(start as i128 + (count as i128 - 1) * step as i128) { return Err("moves/slice-last"); }
        to.offset += if count > 0 { start * from.strides[k] } else { 0 };
        to.shape[k] = count;
        to.strides[k] = if count > 1 { step * from.strides[k] } else { 0 };
    }
    Ok(to)
}

fn kernel(name: &str, dst: &Array, from: &[&Array]) -> Done {
    if !matches!((name, from.len()), ("add" | "mul", 2) | ("neg" | "copy", 1)) { return Err("no such kernel"); }
    if from.iter().any(|x| x.byte != dst.byte) { return value("\"WRONG_DTYPE\""); }
    if from.iter().any(|x| dst.overlaps(x)) { return value("\"OVERLAPPING\""); }
    if from.iter().any(|x| x.shape != dst.shape) { return value("\"SHAPE_MISMATCH\""); }
    let places: Vec<Vec<usize>> = from.iter().map(|x| x.places()).collect();
    for (k, at) in dst.places().into_iter().enumerate() {
        let [x, y] = [0, from.len() - 1].map(|n| from[n].memory.borrow()[places[n][k]]);
        dst.set(at, match name {
            "add" => x.wrapping_add(y), "mul" => x.wrapping_mul(y), "neg" => x.wrapping_neg(), _ => x });
    }
    value("\"DONE\"")
}

fn run(names: &mut HashMap<String, Array>, step: &Json) -> Done {
    let (args, bind) = (step.at("args"), step.at("as").text().to_string());
    let array = |key: &str| names.get(args.at(key).name()).ok_or("it was never made");
    match step.at("do").text() {
        "host" => {}
        "from_values" | "host_array" | "empty" => drop(names.insert(bind, from_values(args)?)),
        "array.move" => {
            let made = moved(array("array")?, args.at("move"))?;
            names.insert(bind, made);
            return value("true");
        }
        "array.to_values" => {
            let x = array("array")?;
            let (dtype, width) = if x.byte { ("uint8", 2) } else { ("int32", 8) };
            let bits: Vec<_> = x.places().iter().map(|&at| format!("\"{:0width$x}\"", x.memory.borrow()[at])).collect();
            return value(&format!(r#"{{"dtype":"{dtype}","bits":[{}]}}"#, bits.join(",")));
        }
        "transfer" => {
            let (src, dst) = (array("src")?, array("dst")?);
            if src.byte != dst.byte { return Err("arrays/dtypes-differ"); }
            if src.shape != dst.shape { return Err("arrays/shapes-differ"); }
            if dst.overlaps(src) { return Err("arrays/overlapping"); }
            kernel("copy", dst, &[src])?;
        }
        "kernel" => {
            let from: Option<Vec<_>> = args.at("sources").list().iter().map(|each| names.get(each.name())).collect();
            return kernel(args.at("name").text(), array("dst")?, &from.ok_or("a source was never made")?);
        }
        _ => return Err("no such command"),
    }
    value("null")
}

const START: &str = r#""protocol":1,"name":"strided.rs","version":"1","language":"Rust","dtypes":["int32","uint8"],
"chapters":["dtypes","layouts","moves","arrays","door"],
"commands":["host","from_values","host_array","empty","array.move","array.to_values","transfer","kernel"]"#;

fn main() {
    let mut names = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let request = parse(&mut line.unwrap().as_bytes());
        let Int(seq) = request.at("seq") else { return };
        let reply = match request.at("cmd").text() {
            "start" => START.into(),
            "profile" => r#""ok":true"#.into(),
            "run" => {
                if request.at("fresh").text() == "true" { names.clear(); }
                let outcomes: Vec<_> = request.at("steps").list().iter().map(|step| match run(&mut names, step) {
                    Ok(outcome) => outcome,
                    Err(rule) if rule.contains('/') => format!(r#"{{"is":"refused","rule":"{rule}"}}"#),
                    Err(reason) => format!(r#"{{"is":"skipped","reason":"{reason}"}}"#),
                }).collect();
                format!("\"outcomes\":[{}]", outcomes.join(","))
            }
            _ => return println!("{{\"seq\":{seq}}}"),
        };
        println!("{{\"seq\":{seq},{}}}", reply.replace('\n', ""));
    }
}
