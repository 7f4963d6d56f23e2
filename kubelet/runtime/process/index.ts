export { possibleIsolation } from './launch/isolation.ts'
export { createProcessRuntime, type ProcessRuntimeOptions } from './process-runtime.ts'
export { startShim } from './shim/shim.ts'
