#!/usr/bin/env node
// What the programs of `kubestage envtest-assets` run, by the name of the one they stand for.
import { existsSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { useCompileCache } from './compile-cache.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
useCompileCache(root)

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
  flushCompileCache()
} catch (error) {
  console.error(`${name}: ${error.message}`)
  process.exit(1)
}
