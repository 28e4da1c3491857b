# Writes what `STRATA help --manual WHAT` prints into OUTPUT; run by cmake -P.
execute_process(COMMAND ${EMULATOR} ${STRATA} help --manual ${WHAT} OUTPUT_FILE ${OUTPUT} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    file(REMOVE ${OUTPUT})
    message(FATAL_ERROR "${STRATA} help --manual ${WHAT}: ${result}")
endif()
