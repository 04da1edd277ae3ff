# Builds for 64-bit ARM (Debian: gcc-aarch64-linux-gnu). Tests run in an emulator (Debian: qemu-user).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(ENV{CXX} aarch64-linux-gnu-g++) # check_language looks for it; if it is not there, C++ is left out
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
