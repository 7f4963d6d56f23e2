/** The preStop hook as a command: hands on the reason that the kubelet has put into the hook's environment. */
import { ask } from './ask.mjs'
import { memberUrl } from './peers.mjs'

const { KUBE_POD_TERM_REASON: reason, POD_IP } = process.env
// As the kubelet sends it: the bytes of UTF-8.
const headers = reason === undefined ? {} : { 'KUBE-POD-TERM-REASON': Buffer.from(reason).toString('latin1') }
// The pod's grace period is the only limit.
const { status, said } = await ask(memberUrl(POD_IP, '/leave'), { headers, timeoutMs: 2 ** 31 - 1 })
console.log(said)
process.exitCode = status === 200 ? 0 : 1
