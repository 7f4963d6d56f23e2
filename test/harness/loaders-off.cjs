// Loaded by tap before its own loaders (package.json). They record every module for coverage and for mocks, which no test here uses,
// and take half a second of CPU time for each test file. So they register nothing, until preload.mjs calls `restore`.
const nodeModule = require('node:module')

const { register, registerHooks } = nodeModule
Object.assign(nodeModule, { register() {}, registerHooks: () => ({ deregister() {} }) })

/** For `require` and for `import`, whose names are copies. */
exports.restore = () => {
  Object.assign(nodeModule, { register, registerHooks })
  nodeModule.syncBuiltinESMExports()
}
