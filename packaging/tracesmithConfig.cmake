# find_package(tracesmith) gives tracesmith::tracesmith, the shared library,
# and tracesmith::static; tracesmith::tools, what tracesmith_tools.h declares,
# and tracesmith::tools_static. Works wherever the installed tree is moved to.
get_filename_component(_tracesmith_lib "${CMAKE_CURRENT_LIST_DIR}/../.."
    ABSOLUTE)
get_filename_component(_tracesmith "${_tracesmith_lib}/@UP@" ABSOLUTE)
foreach(_target tracesmith static tools tools_static)
    if(NOT TARGET tracesmith::${_target})
        add_library(tracesmith::${_target} UNKNOWN IMPORTED)
        set_target_properties(tracesmith::${_target} PROPERTIES
            INTERFACE_INCLUDE_DIRECTORIES
            "${_tracesmith}/include;${_tracesmith}/include/tracesmith")
    endif()
endforeach()
set_target_properties(tracesmith::tracesmith PROPERTIES
    IMPORTED_LOCATION "${_tracesmith_lib}/libtracesmith.so")
set_target_properties(tracesmith::static PROPERTIES
    IMPORTED_LOCATION "${_tracesmith_lib}/libtracesmith.a"
    INTERFACE_LINK_LIBRARIES "@LIBS@")
set_target_properties(tracesmith::tools PROPERTIES
    IMPORTED_LOCATION "${_tracesmith_lib}/libtracesmith-tools.so"
    INTERFACE_LINK_LIBRARIES tracesmith::tracesmith)
set_target_properties(tracesmith::tools_static PROPERTIES
    IMPORTED_LOCATION "${_tracesmith_lib}/libtracesmith-tools.a"
    INTERFACE_LINK_LIBRARIES "tracesmith::static;@TOOLS_LIBS@")
unset(_tracesmith)
unset(_tracesmith_lib)
unset(_target)
