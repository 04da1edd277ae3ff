# cmake -DMANIFEST=FILE -DPREFIX=DIR -P uninstall.cmake - remove what the last make install installed
#
# MANIFEST is the list that cmake --install has written. DESTDIR is obeyed. Folders that are called hora, and
# those in them, are removed if they are empty then. Other folders stay, because other programs may use them.
cmake_minimum_required(VERSION 3.22)

if(NOT EXISTS "${MANIFEST}")
    message(FATAL_ERROR "${MANIFEST} does not exist. Run make install with the same PREFIX first.")
endif()
cmake_path(ABSOLUTE_PATH PREFIX NORMALIZE)
file(STRINGS "${MANIFEST}" files)

# Nothing is removed if one of the files is elsewhere.
foreach(file IN LISTS files)
    cmake_path(IS_PREFIX PREFIX "${file}" NORMALIZE inside)
    if(NOT inside)
        message(FATAL_ERROR "The last make install had another PREFIX than ${PREFIX}: it installed ${file}")
    endif()
endforeach()

set(folders)
foreach(file IN LISTS files)
    file(REMOVE "$ENV{DESTDIR}${file}")
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PREFIX}")
    cmake_path(GET file PARENT_PATH folder)
    while(folder MATCHES "(^|/)hora(/|$)")
        list(APPEND folders "${folder}")
        cmake_path(GET folder PARENT_PATH folder)
    endwhile()
endforeach()

list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING) # a folder comes after those in it
foreach(folder IN LISTS folders)
    set(path "$ENV{DESTDIR}${PREFIX}/${folder}")
    file(GLOB rest LIST_DIRECTORIES true "${path}/*")
    if(NOT rest)
        file(REMOVE_RECURSE "${path}")
    endif()
endforeach()
list(LENGTH files count)
message(STATUS "Removed ${count} files from $ENV{DESTDIR}${PREFIX}")
