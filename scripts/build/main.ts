// Makes what a published package ships: bundled programs, the library's types, the data beside them. `node
// scripts/build/main.ts [FOLDER]`; default: dist.
import { execFileSync } from 'node:child_process'
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { billOfMaterials } from './bill-of-materials.ts'
import { bundle, notBundled } from './bundle.ts'
import { writeLicences } from './licences.ts'
import { bundlePage } from './page.ts'
import { writeTypes } from './types.ts'

const [folder = 'dist'] = process.argv.slice(2)
const data = ['openapi/data/**/*.json', 'kubelet/**/*.pl', 'cluster/supervisor/*.pl']

rmSync(folder, { recursive: true, force: true })
const outputs = { ...(await bundle(folder, notBundled)), ...(await bundlePage(folder)) }
writeLicences(join(folder, 'LICENCES.txt'), outputs)
writeTypes(folder)
const schema = execFileSync(process.execPath, ['bin/kubestage.mjs', 'config', '--schema'])
writeFileSync(join(folder, 'kubestage.schema.json'), schema)
writeFileSync(join(folder, 'sbom.cdx.json'), billOfMaterials())
for await (const file of glob(data)) cpSync(file, join(folder, file))
