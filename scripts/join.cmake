# Makes of some files of templates/ the one text that stands in a page:
#
#     cmake -DKIND=script|plain -DINPUTS=a.js|b.js -DOUTPUT=page.js -P scripts/join.cmake
#
# script: one strict block, so that no name gets into the page's global scope, without the lines that are nothing but
# comment and without indentation (no string of ours goes over several lines). plain: as they stand.

foreach(argument KIND INPUTS OUTPUT)
    if(NOT DEFINED ${argument})
        message(FATAL_ERROR "join.cmake needs -D${argument}=...")
    endif()
endforeach()

set(joined "\n")
string(REPLACE "|" ";" files "${INPUTS}")
foreach(input IN LISTS files)
    file(READ "${input}" text)
    string(APPEND joined "${text}")
endforeach()

# Blank space goes first, so that "at the beginning of a line" is "behind a line break"; empty lines go with it.
if(KIND STREQUAL script)
    string(REGEX REPLACE "\n[ \n]+" "\n" joined "${joined}")
    string(REGEX REPLACE "\n(//[^\n]*\n)+" "\n" joined "${joined}")
    # Once more for each comment that follows another one: the line break between them belongs to the first.
    set(before)
    while(NOT before STREQUAL joined)
        set(before "${joined}")
        string(REGEX REPLACE "\n/[*]([^*]|[*]+[^*/])*[*]+/\n" "\n" joined "${joined}")
        string(REGEX REPLACE "\n(//[^\n]*\n)+" "\n" joined "${joined}")
    endwhile()
    set(joined "\n\"use strict\";\n{${joined}}\n")
endif()

string(SUBSTRING "${joined}" 1 -1 joined)
file(WRITE "${OUTPUT}.new" "${joined}")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
