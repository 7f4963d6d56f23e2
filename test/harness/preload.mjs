// Loaded by tap before each test file (package.json).
import { join } from 'node:path'
import processOnSpawn from 'process-on-spawn'
import { useCompileCache } from '../../bin/compile-cache.mjs'
import { restore } from './loaders-off.cjs'

restore()

// Most files load much of the product: what Node has stripped of types and compiled is kept for the next file, as `kubestage` keeps it.
useCompileCache(join(import.meta.dirname, '../..'))

// tap gives its coverage loader to every Node that a test starts, and to their children. Coverage is off: programs start as for a user.
const coverageLoader = /"--import=[^"]*@tapjs\/processinfo[^"]*"|--import=\S*@tapjs\/processinfo\S*/g

processOnSpawn.removeAllListeners()
const others = process.env.NODE_OPTIONS?.replace(coverageLoader, '').trim()
if (others) process.env.NODE_OPTIONS = others
else delete process.env.NODE_OPTIONS
