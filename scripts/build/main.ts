// Makes what a published package ships: bundled programs, the library's types, the data beside them. `node
// scripts/build/main.ts [FOLDER]`; default: dist.
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { writeLicences } from './licences.ts'
import { bundlePage } from './page.ts'
import { writeTypes } from './types.ts'

const [folder = 'dist'] = process.argv.slice(2)
const data = ['openapi/data/**/*.json', 'kubelet/runtime/process/*.pl', 'cluster/supervisor/*.pl']
const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))

rmSync(folder, { recursive: true, force: true })
// Of Fastify the users' own is for its types alone.
const { fastify: _, ...peers } = peerDependencies
const installed = Object.keys({ ...dependencies, ...optionalDependencies, ...peers })
const outputs = { ...(await bundle(folder, installed)), ...(await bundlePage(folder)) }
writeLicences(join(folder, 'LICENCES.txt'), outputs)
writeTypes(folder)
const schema = execFileSync(process.execPath, ['bin/kubestage.mjs', 'config', '--schema'])
writeFileSync(join(folder, 'kubestage.schema.json'), schema)
for await (const file of glob(data)) cpSync(file, join(folder, file))
