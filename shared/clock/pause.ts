const never = new Int32Array(new SharedArrayBuffer(4))

/** Halts the thread, with everything that runs in it: for commands that have nothing else to do. */
export const pauseThread = (durationMs: number): void => void Atomics.wait(never, 0, 0, durationMs)
