/**
 * Gives access to the parts of `node:http` that are used. An import of the module would read all of its exports, among
 * them Node's WebSocket client: 35 ms, and 6 to 16 MB of memory, in each program whose bundle has the import, even if
 * the program never uses it.
 */
export const { createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http')
