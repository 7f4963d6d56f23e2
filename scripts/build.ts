// Makes dist/, which is what a published package ships: the sources as plain JavaScript, and the data beside them.
import { execFileSync } from 'node:child_process'
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'

const data = ['openapi/data/**/*.json', 'kubelet/runtime/process/*.pl']

rmSync('dist', { recursive: true, force: true })
execFileSync('tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' })
writeFileSync('dist/kubestage.schema.json', execFileSync('node', ['bin/kubestage.mjs', 'config', '--schema']))
for await (const file of glob(data)) cpSync(file, join('dist', file))
