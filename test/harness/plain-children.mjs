// Loaded by tap before each test file (package.json). tap gives its coverage loader to every Node that a test starts, and to their children.
// Coverage is off: programs start as they start for a user.
import processOnSpawn from 'process-on-spawn'

const coverageLoader = /"--import=[^"]*@tapjs\/processinfo[^"]*"|--import=\S*@tapjs\/processinfo\S*/g

processOnSpawn.removeAllListeners()
const others = process.env.NODE_OPTIONS?.replace(coverageLoader, '').trim()
if (others) process.env.NODE_OPTIONS = others
else delete process.env.NODE_OPTIONS
