#include "module.h"

#include <dlfcn.h>

namespace emucuda {

LoadedModule::~LoadedModule() {
    if (library) dlclose(library);
}

}  // namespace emucuda
