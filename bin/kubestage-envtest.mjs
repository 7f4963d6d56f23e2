#!/usr/bin/env node
// What the programs of `kubestage envtest-assets` run, by the name of the one they stand for.
import { existsSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'kubestage')
module.enableCompileCache(process.env.NODE_COMPILE_CACHE)

const inSource = existsSync(join(root, 'cli', 'envtest'))
const load = (name) =>
  import(inSource ? join(root, 'cli', 'envtest', `${name}.ts`) : join(root, 'dist', 'cli', 'envtest', `${name}.js`))
const programs = {
  etcd: async (args) => (await load('etcd')).runEtcd(args),
  'kube-apiserver': async (args) => (await load('kube-apiserver')).runKubeApiserver(args),
}
const [name, ...args] = process.argv.slice(2)
try {
  await programs[name](args)
  module.flushCompileCache()
} catch (error) {
  console.error(`${name}: ${error.message}`)
  process.exit(1)
}
