/** The shim may take this long to start a process. */
export const startTimeoutMs = 30_000
export const notStarted = `the shim did not start the process within ${startTimeoutMs / 1000} s`

// These messages say why a process could not be started. Their texts are containerd's and runc's.

export const startFailure = (problem: string): string =>
  `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: ${problem}`

export const noTask = (id: string): string => `failed to load task: no running task found: task ${id} not found`

export const execFailure = (id: string, problem: string): string =>
  `failed to exec in container: failed to start exec "${id}": OCI runtime exec failed: exec failed: unable to start container process: ${problem}: unknown`
