/** Another user of the machine. */
import { spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCommand } from '../../harness/cluster.ts'
import { skipOrFail } from '../../harness/skip.ts'
import type { Attempts, Setting } from './attempts.ts'

export const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

const nobody = 65_534

export const otherUserAttempts = ({ stage: { stateDir } }: Setting): Attempts => ({
  'read a file of the state folder': async (t) => {
    if (process.getuid?.() !== 0) return skipOrFail(t, 'only root can be another user')
    const files = filesBelow(stateDir)
    t.ok(files.length > 15, `${files.length} files`)
    const child = spawn('sh', ['-c', 'cat "$@" /etc/hostname', 'sh', ...files], { uid: nobody, gid: nobody })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    await new Promise((resolve) => child.on('close', resolve))
    t.equal(output, readFileSync('/etc/hostname', 'utf8'), 'only what is for everyone')
  },
  'have its own folder taken for the state folder': async (t) => {
    if (process.getuid?.() !== 0) return skipOrFail(t, 'only root can be another user')
    const folder = mkdtempSync(join(tmpdir(), 'kubestage-planted-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    chownSync(folder, nobody, nobody)
    const command = startCommand(t, ['up', '--port=0', `--state-dir=${folder}`])
    t.not(await command.ended, 0)
    t.match(command.output(), /belongs to user 65534/)
    t.same(readdirSync(folder), [], 'no key was written there')
  },
})
