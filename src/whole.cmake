# The library as one object, optimised as a whole: functions of one folder that another calls are inlined, and what is not exported is
# local. It is ordinary machine code, so linking it needs neither link-time optimisation nor the same compiler.

# What makes one object of those compiled with -flto. gcc: not by the linker's plugin, which would keep everything that is hidden; and the
# warning is a mistake, about the last of a list that was seen not to be empty. clang has no such way: hidden symbols are made local afterwards.
set(whole_options -r -nostdlib -flto -fPIC -Wl,--build-id=none)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND whole_options -flto-partition=one -fwhole-program -fno-use-linker-plugin -Wno-stringop-overflow)
else()
    set(whole_then COMMAND ${CMAKE_OBJCOPY} --localize-hidden)
endif()
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
separate_arguments(whole_flags NATIVE_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}}")

# hora_can_be_whole(result) - whether compiler and linker can do that, tried on two small files
function(hora_can_be_whole result)
    set(${result} OFF PARENT_SCOPE)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$" OR APPLE OR NOT CMAKE_OBJCOPY)
        return()
    endif()
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/whole)
    file(WRITE ${folder}/a.c "int hidden(int x);\n__attribute__((visibility(\"default\"))) int shown(int x);\n"
                             "int shown(int x) { return hidden(x); }\n")
    file(WRITE ${folder}/b.c "int hidden(int x);\nint hidden(int x) { return x + 1; }\n")
    set(whole_try ${CMAKE_C_COMPILER} ${whole_flags})
    execute_process(COMMAND ${whole_try} -flto -fPIC -fvisibility=hidden -c a.c b.c WORKING_DIRECTORY ${folder} OUTPUT_QUIET ERROR_QUIET)
    execute_process(COMMAND ${whole_try} ${whole_options} -o whole.o a.o b.o WORKING_DIRECTORY ${folder} OUTPUT_QUIET ERROR_QUIET)
    execute_process(COMMAND ${whole_try} -shared -o whole.so whole.o WORKING_DIRECTORY ${folder} OUTPUT_QUIET ERROR_QUIET
                    RESULT_VARIABLE failed)
    if(failed EQUAL 0)
        set(${result} ON PARENT_SCOPE)
    endif()
endfunction()

# hora_make_whole(object target) - the object, made of those of an object library, by a target of its own, so that it is made once
function(hora_make_whole object target)
    target_compile_options(${target} PRIVATE -flto)
    target_compile_definitions(${target} PRIVATE HORA_WHOLE)
    if(whole_then)
        list(APPEND whole_then ${object})
    endif()
    add_custom_command(OUTPUT ${object} DEPENDS ${target} $<TARGET_OBJECTS:${target}> VERBATIM COMMAND_EXPAND_LISTS
        COMMAND ${CMAKE_C_COMPILER} ${whole_flags} ${whole_options} -o ${object} $<TARGET_OBJECTS:${target}>
        ${whole_then}
        COMMENT "Optimising the library as a whole")
    add_custom_target(hora_whole DEPENDS ${object})
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endfunction()
