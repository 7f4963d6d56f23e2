/** Where something is mounted, from the kernel's list (`/proc/self/mountinfo`); in its order. */
export const mountPoints = (mountinfo: string): string[] =>
  mountinfo
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .map((path) => path.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))))
    .filter((path) => path.startsWith('/'))
