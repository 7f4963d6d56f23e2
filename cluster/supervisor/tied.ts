import type { ChildSpec } from './child.ts'

/** Becomes its arguments, which have to end when the pipe that is its stdin is closed: within 5 s, else by SIGKILL. */
const untilInputEnds = `
self=$$
exec 3<&0
(
  read -r _ <&3
  kill "$self" || exit
  for _ in 1 2 3 4 5; do sleep 1; kill -0 "$self" || exit; done
  kill -9 "$self"
) >/dev/null 2>&1 &
exec "$@" </dev/null 3<&-`

/** A program that knows nothing of its supervisor, and ends when its stdin does. `name`: what `ps` shows of the watch. */
export const tied = (
  name: string,
  [command, ...args]: readonly [string, ...string[]],
): Pick<ChildSpec, 'command' | 'args'> => ({
  command: 'sh',
  args: ['-c', untilInputEnds, name, command, ...args],
})
