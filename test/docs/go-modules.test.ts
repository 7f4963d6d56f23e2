/** The Go modules of tests that are made of Kubernetes' packages: CI compiles a package once for all that agree on its dependencies. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'

const modules = globSync('{examples/*,test/*,test/*/*}/go.mod').map((file) => ({
  file,
  text: readFileSync(file, 'utf8'),
}))
const ofKubernetes = modules.filter(({ text }) => text.includes('k8s.io/client-go v0.36.3'))
const required = /^\s+(\S+) (v\S+)(?: \/\/ indirect)?$/gm
/** The version of modules that a replacement decides about. */
const replaced = 'v0.0.0'

t.test('each module is required in one version', async (t) => {
  const versions = new Map<string, string>()
  const others: string[] = []
  for (const { file, text } of ofKubernetes) {
    for (const [, module = '', version = ''] of text.matchAll(required)) {
      if (version === replaced) continue
      const first = versions.get(module) ?? version
      versions.set(module, first)
      if (version !== first) others.push(`${file}: ${module} ${version}, elsewhere ${first}`)
    }
  }
  t.ok(versions.size > 100, `${versions.size} modules`)
  t.same(others, [], 'go get the newer version in both folders')
})
