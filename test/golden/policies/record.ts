/**
 * Asks a new, real server that has no controllers: node test/golden/policies/record.ts KUBECONFIG.json, as `kubectl
 * config view --raw -o json` prints it. Takes half a minute, since a real server reads policies each second, and
 * schemas each five.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { RealServer } from '../fields/real-server.ts'
import { play } from './play.ts'

const SETTLED_MS = 12_000
using server = new RealServer()
const answers = await play(
  async ({ method, path, body, headers }) => {
    const { text, ...answer } = await server.send(method, path, body, headers)
    return { ...answer, body: JSON.parse(text) }
  },
  async () => {
    await setTimeout(SETTLED_MS)
  },
)
const lines = Object.entries(answers).map(([name, heard]) => `${JSON.stringify(name)}: ${JSON.stringify(heard)}`)
writeFileSync(join(import.meta.dirname, 'answers.json'), `{\n${lines.join(',\n')}\n}\n`)
