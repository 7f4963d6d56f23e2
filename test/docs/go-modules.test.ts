/** The Go modules of tests that are made of Kubernetes' packages: CI compiles a package once for all that agree on its dependencies. */
import { readFileSync } from 'node:fs'
import t from 'tap'

const folders = [
  'examples/go-controller',
  'test/clients/go',
  'test/toolchains/kubectl-1.36',
  'test/toolchains/sample-apiserver',
]
const required = /^\s+(\S+) (v\S+)(?: \/\/ indirect)?$/gm
/** The version of modules that a replacement decides about. */
const replaced = 'v0.0.0'

t.test('each module is required in one version', async (t) => {
  const versions = new Map<string, string>()
  const others: string[] = []
  for (const folder of folders) {
    for (const [, module = '', version = ''] of readFileSync(`${folder}/go.mod`, 'utf8').matchAll(required)) {
      if (version === replaced) continue
      const first = versions.get(module) ?? version
      versions.set(module, first)
      if (version !== first) others.push(`${folder}: ${module} ${version}, elsewhere ${first}`)
    }
  }
  t.ok(versions.size > 100, `${versions.size} modules`)
  t.same(others, [], 'go get the newer version in both folders')
})
