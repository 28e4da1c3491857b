# Links the page's WebAssembly: the objects below OBJECTS, by CLANG, into OUTPUT. In the order of their names, so that the
# same sources give the same bytes.
file(GLOB_RECURSE objects ${OBJECTS}/*.o)
list(SORT objects)
execute_process(
    COMMAND ${CLANG} --target=wasm32 -nostdlib -Wl,--no-entry,--strip-all,-z,stack-size=262144 -o ${OUTPUT} ${objects}
    COMMAND_ERROR_IS_FATAL ANY)
