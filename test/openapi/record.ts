/**
 * Writes `real.json`: what the server of the current kubeconfig publishes, with the custom resources of `crds.json`.
 *   KUBECONFIG=… node test/openapi/record.ts
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { publishedFacts } from './facts.ts'
import { packed, readPublished, recordingFile } from './recording.ts'

const kubectl = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)('kubectl', args, { maxBuffer: 64 << 20 })).stdout

const folder = import.meta.dirname
await kubectl('apply', '-f', `${folder}/crds.json`)
const published = await readPublished(async (path) => JSON.parse(await kubectl('get', '--raw', path)))
writeFileSync(recordingFile, packed(publishedFacts(published)))
