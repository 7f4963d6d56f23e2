// Loaded by tap before its own loader (package.json), which records every module for coverage, which is off,
// and takes CPU time for each test file. So it registers nothing, until preload.mjs calls `restore`.
const nodeModule = require('node:module')

const { register, registerHooks } = nodeModule
Object.assign(nodeModule, { register() {}, registerHooks: () => ({ deregister() {} }) })

/** For `require` and for `import`, whose names are copies. */
exports.restore = () => {
  Object.assign(nodeModule, { register, registerHooks })
  nodeModule.syncBuiltinESMExports()
}
