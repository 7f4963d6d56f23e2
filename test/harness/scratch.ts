import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/**
 * Reads the folder's name, so that it is in no command line, and waits for the end of its input. Then what names the folder in its
 * command line is killed, what is mounted in it is not any more, and it is removed.
 */
const sweep = `
read -r folder
cat >/dev/null
for file in $(grep -lsaF -- "$folder" /proc/[0-9]*/cmdline); do
  pid=\${file#/proc/}
  kill -9 "\${pid%/cmdline}"
done 2>/dev/null
while read -r _ place _; do case $place in "$folder"/*) umount -l "$place" ;; esac; done </proc/mounts
rm -rf "$folder"`

/**
 * A new folder of the test's own, gone with all that runs or is mounted there when the test is over; also when its process is killed,
 * which leaves clusters in the background otherwise.
 */
export function scratchFolder(t: Pick<Test, 'teardown'>, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `kubestage-${name}-`))
  const sweeper = spawn('sh', ['-c', sweep], { stdio: ['pipe', 'ignore', 'inherit'], detached: true })
  sweeper.stdin.write(`${folder}\n`)
  const ended = once(sweeper, 'exit')
  t.teardown(async () => {
    sweeper.stdin.end()
    await ended
  })
  return folder
}
