# Builds with musl instead of glibc, with the compiler musl-gcc (Debian: musl-tools).
set(CMAKE_C_COMPILER musl-gcc)
set(ENV{CXX} musl-g++) # check_language looks for it; usually it is not there, and C++ is left out

# musl-gcc does not find the headers of the kernel, and must not find the others of /usr/include.
execute_process(COMMAND cc -print-multiarch OUTPUT_VARIABLE multiarch OUTPUT_STRIP_TRAILING_WHITESPACE)
set(kernel_headers ${CMAKE_BINARY_DIR}/kernel-headers)
file(MAKE_DIRECTORY ${kernel_headers})
file(CREATE_LINK /usr/include/linux ${kernel_headers}/linux SYMBOLIC)
file(CREATE_LINK /usr/include/asm-generic ${kernel_headers}/asm-generic SYMBOLIC)
file(CREATE_LINK /usr/include/${multiarch}/asm ${kernel_headers}/asm SYMBOLIC)
set(CMAKE_C_FLAGS_INIT "-isystem ${kernel_headers}")
