export { possibleIsolation } from './isolation.ts'
export { createProcessRuntime, type ProcessRuntimeOptions } from './process-runtime.ts'
export { startShim } from './shim.ts'
