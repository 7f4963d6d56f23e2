import { completed, kubeletOptions } from '../../kubelet/config.ts'
import { command } from '../command.ts'

const { supervised, ...options } = kubeletOptions

export default command({
  purpose: 'Runs the kubelet of one node alone, on any cluster. It logs to standard output.',
  options,
  ownFile: true,
  notes: [
    'kubestage join is simpler: it needs a token alone. This one takes credentials as a real kubelet does.',
    '',
    'With a certificate that it asks for itself, by the token in a kubeconfig:',
    '  kubestage kubelet --bootstrap-kubeconfig bootstrap.kubeconfig --root-dir /var/lib/kubestage --node-name worker-1',
    'Behind several API servers, one of which may fail:',
    '  kubestage kubelet --kubeconfig node.kubeconfig --server https://192.0.2.10:6443,https://192.0.2.11:6443',
  ],
  async run({ values }) {
    const config = completed({ ...values, supervised: supervised.default })
    const { runKubelet } = await import('./run-kubelet.ts')
    return await runKubelet(config)
  },
})
