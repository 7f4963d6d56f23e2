/** Upstream's own objects with every field set, of every kind in every version that Go clients know; read from its Go module. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { decodeProtobuf } from '../../../apiserver/protobuf/decode.ts'
import { decodeObject } from '../../../apiserver/validation/decoder.ts'
import { openApiSchemas } from '../../../openapi/schemas.ts'
import { repository } from '../../harness/cluster.ts'
import { run } from '../../harness/run.ts'
import { skipOrFail } from '../../harness/skip.ts'

/** Not among the kinds of a client: what a server asks of webhooks, and answers that are never sent back. */
const strangers = /^(admission|apidiscovery|imagepolicy)\.k8s\.io|^core\.v1\.WatchEvent/

const schemaOf = new Map<string, string>()
for (const [name, schema] of openApiSchemas()) {
  for (const { group, version, kind } of schema['x-kubernetes-group-version-kind'] ?? [])
    schemaOf.set(`${group ? `${group}/` : ''}${version} ${kind}`, name)
}

const cwd = join(repository, 'test', 'clients', 'go')
const download = await run('go', ['mod', 'download', '-json', 'k8s.io/api'], { cwd, timeoutMs: 240_000 })
if (download?.code !== 0) skipOrFail(t, 'Go, or its module k8s.io/api, is not to be had')
else {
  const { Dir } = JSON.parse(download.output) as { Dir: string }
  const folder = join(Dir, 'testdata', 'HEAD')
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.pb') && !strangers.test(name))
    .map((name) => name.slice(0, -'.pb'.length))
  t.ok(names.length >= 179, `${names.length} objects`)
  for (const name of names) {
    const { apiVersion, kind, ...object } = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))
    const decoded = decodeProtobuf(readFileSync(join(folder, `${name}.pb`)))
    const schema = schemaOf.get(`${apiVersion} ${kind}`)
    const { apiVersion: _apiVersion, kind: _kind, ...plain } = decoded
    // What has metadata is read like a request's body where it is served.
    const read = schema && 'metadata' in object ? decodeObject({ schema }, decoded).object : plain
    t.strictSame(JSON.parse(JSON.stringify(read)), object, name)
  }
}
