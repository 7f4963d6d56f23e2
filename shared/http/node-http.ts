/**
 * What is used of `node:http`. To import that module reads all that it exports, Node's WebSocket client among it: 35 ms,
 * and 6 to 16 MB of memory, in each program whose bundle has the import, though it may never use it.
 */
export const { createServer, request } = process.getBuiltinModule('node:http')
