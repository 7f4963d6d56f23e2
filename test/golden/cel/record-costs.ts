/**
 * Asks a real server for its verdict on 500 generated definitions, by dry run:
 * node test/golden/cel/record-costs.ts KUBECONFIG.json, as `kubectl config view --raw -o json` prints it.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { definitionOf, randomSchema } from '../../cel/definition-generator.ts'
import { Random } from '../../fuzz/random.ts'
import { RealServer } from '../fields/real-server.ts'
import { causesOf } from './causes.ts'

const COUNT = 500
const url = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All'
using server = new RealServer()
const lines: string[] = []
for (let seed = 1; seed <= COUNT; seed++) {
  const schema = randomSchema(new Random(seed))
  const { status, text } = await server.send('POST', url, definitionOf(schema))
  if (status !== 201 && status !== 422) throw new Error(`seed ${seed}: ${status} ${text}`)
  lines.push(JSON.stringify({ schema, causes: causesOf(JSON.parse(text)) }))
}
writeFileSync(join(import.meta.dirname, 'costs.json'), `[\n${lines.join(',\n')}\n]\n`)
