# Writes a file as a C array, so that the program carries it:
#
#     cmake -DINPUT=font.ttf -DOUTPUT=font_data.c -DNAME=font_regular -P scripts/embed.cmake
#
# gives `const unsigned char font_regular[]` and `const size_t font_regular_nbytes`. A zero byte, which is not counted, follows the
# bytes, so that text is a C string and an empty file a valid array.
#
# With -DHASH_OF=FILE there is `const char font_regular_hash[]` too: 'sha256-...' in quotes, by which a Content-Security-Policy
# allows a script or a style with exactly the bytes of that file.

foreach(argument INPUT OUTPUT NAME)
    if(NOT DEFINED ${argument})
        message(FATAL_ERROR "embed.cmake needs -D${argument}=...")
    endif()
endforeach()

file(READ "${INPUT}" hex HEX)
string(LENGTH "${hex}" length)
math(EXPR nbytes "${length} / 2")

# Decimal or hexadecimal makes no difference to the compiler; hexadecimal needs no arithmetic here. The line break comes
# first: 20 bytes a line keep diffs and editors usable.
string(REGEX REPLACE "(........................................)" "\\1\n" lines "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${lines}")

set(hash_text)
if(HASH_OF)
    set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
    file(SHA256 "${HASH_OF}" digest)
    set(base64)
    foreach(from RANGE 0 60 6) # three bytes become four symbols; 32 bytes end with two
        string(SUBSTRING "${digest}0000" ${from} 6 group)
        foreach(shift 18 12 6 0)
            math(EXPR symbol "(0x${group} >> ${shift}) & 63")
            string(SUBSTRING ${alphabet} ${symbol} 1 symbol)
            string(APPEND base64 "${symbol}")
        endforeach()
    endforeach()
    string(SUBSTRING "${base64}" 0 43 base64)
    set(hash_text "
extern const char ${NAME}_hash[];
const char ${NAME}_hash[] = \"'sha256-${base64}='\";
")
endif()

get_filename_component(source "${INPUT}" NAME)
file(WRITE "${OUTPUT}.new" "/* Made by scripts/embed.cmake from ${source}. */
#include <stddef.h>

extern const unsigned char ${NAME}[];
extern const size_t ${NAME}_nbytes;

const unsigned char ${NAME}[] = {
${bytes}0x00};
const size_t ${NAME}_nbytes = ${nbytes};
${hash_text}")
# An interrupted build must not leave half of an array.
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
