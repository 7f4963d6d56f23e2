// Imported before a program of the package that is started without Node's compile cache (`node --import`).
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { useCompileCache } from './compile-cache.mjs'

useCompileCache(join(dirname(fileURLToPath(import.meta.url)), '..'))
