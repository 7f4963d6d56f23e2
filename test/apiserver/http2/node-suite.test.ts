import t from 'tap'
import { repository } from '../../harness/cluster.ts'

/** A sample of the tests of the API server once more, with node:http2 serving HTTP/2. */
const sample = ['http.test.ts', 'limits.test.ts', 'hostile-requests.test.ts', 'auth.test.ts']

const env = { ...process.env, KUBESTAGE_HTTP2: 'node' }
for (const file of sample) {
  const args = ['--import=./test/harness/preload.mjs', `test/apiserver/${file}`]
  t.spawn(process.execPath, args, { cwd: repository, env }, `${file} with --http2=node`)
}
