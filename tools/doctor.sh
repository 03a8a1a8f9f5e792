#!/bin/sh
# One line for each thing that is missing before Counterfoil can be built, with the Debian package that brings it.
#   sh tools/doctor.sh              says what is missing; exit status 1 if anything is
#   sh tools/doctor.sh --packages   prints only the Debian packages to install
# PYTHON and CC choose the interpreter and the C compiler, as they do for make.

python=${PYTHON:-python3}
compiler=${CC:-cc}
list=${1:-}
missing=0

report() { # $1: what is missing, $2: Debian packages
    missing=1
    if [ "$list" = --packages ]; then
        echo "$2"
    else
        echo "counterfoil needs $1 (Debian: apt-get install $2)" >&2
    fi
}

compiles() { # $1: a C translation unit
    printf '%s\n' "$1" | $compiler -x c -fsyntax-only - >/dev/null 2>&1
}

check_python() {
    if ! "$python" -c '' >/dev/null 2>&1; then
        report "Python 3.11 or newer: $python does not run" "python3 python3-dev python3-venv"
        return
    fi
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        found=$("$python" -c 'import platform; print(platform.python_version())')
        report "Python 3.11 or newer: $python is $found" "python3 python3-dev python3-venv"
        return
    fi
    "$python" -c 'import os, sysconfig; open(os.path.join(sysconfig.get_path("include"), "Python.h")).close()' \
        2>/dev/null || report "Python.h, the C headers of Python" python3-dev
    "$python" -c 'import ensurepip, venv' 2>/dev/null || report "venv and ensurepip of Python" python3-venv
}

check_compiler() {
    if ! compiles 'int main(void) { return 0; }'; then
        report "a C compiler: $compiler does not compile" "gcc libc6-dev"
    elif ! compiles '#include <stdio.h>'; then
        report "the headers of the C library" libc6-dev
    fi
}

check_python
check_compiler
make --version >/dev/null 2>&1 || report "make" make
exit $missing
