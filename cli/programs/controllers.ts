import { apiServerOptions } from '../../apiserver/options.ts'
import { startControllersProgram } from '../../cluster/controllers-program.ts'
import { clusterOptions } from '../../cluster/settings.ts'
import { createMovableClock } from '../../shared/clock/movable-clock.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { electionOptions } from '../../shared/config/election-options.ts'
import { electionOf } from '../../shared/config/election-settings.ts'
import { loopOptions } from '../../shared/config/loop-options.ts'
import { option } from '../../shared/config/option.ts'
import { flag, path, port } from '../../shared/config/option-types.ts'
import { configOption } from '../../shared/config/resolve.ts'
import { serverOption } from '../../shared/config/server-urls.ts'
import { clusterClock, timeOriginOption } from '../../shared/config/time-options.ts'
import { createLog } from '../../shared/log/log.ts'
import { settle } from '../../shared/memory/settle.ts'
import { accessOf } from '../access/cluster-access.ts'
import { command } from '../command.ts'
import { untilStopped } from '../process/signals.ts'

export default command({
  purpose:
    'Runs control loops and scheduler alone, beside Kubestage API servers or a real kube-apiserver. It logs to standard output.',
  options: {
    config: configOption,
    kubeconfig: option(path, {
      default: '.kubestage/controllers.kubeconfig',
      help: 'Address of the API server, and credentials for it',
    }),
    server: serverOption,
    controllers: apiServerOptions.controllers,
    scheduler: clusterOptions.scheduler,
    featureGates: apiServerOptions.featureGates,
    ...electionOptions,
    leaderElect: option(flag, {
      default: true,
      help: 'Run control loops and scheduler only while this process holds their Leases',
    }),
    ...loopOptions,
    clusterCidr: apiServerOptions.clusterCidr,
    clusterSigningCertFile: option(path, {
      default: '',
      help: "PEM file of the CA that signs nodes' certificates; default: ca.crt of --cert-dir",
    }),
    clusterSigningKeyFile: option(path, { default: '', help: 'PEM file of its key; default: ca.key of --cert-dir' }),
    rootCaFile: option(path, {
      default: '',
      help: 'PEM file of what pods trust (kube-root-ca.crt); default: the CA of the kubeconfig',
    }),
    certDir: option(path, { default: '.kubestage/pki', help: "Folder of the cluster's CA, if it is this cluster's" }),
    volumesDir: option(path, { default: '.kubestage/volumes', help: 'Folder for the volumes that claims get' }),
    healthzPort: option(port, {
      default: 0,
      help: 'Port on 127.0.0.1 that answers /healthz and /livez, by HTTP; 0: none',
    }),
    timeScale: apiServerOptions.timeScale,
    timeOrigin: timeOriginOption,
    logLevel: apiServerOptions.logLevel,
  },
  notes: [
    'Any number may run: the Leases kube-controller-manager and kube-scheduler in kube-system decide which one works.',
    '',
    'Beside two API servers; a list, or the address of a balancer:',
    '  kubestage controllers --server https://127.0.0.1:6443,https://127.0.0.1:6444',
    'Beside a real kube-apiserver:',
    '  kubestage controllers --kubeconfig ~/.kube/config --cluster-signing-cert-file ca.crt --cluster-signing-key-file ca.key',
  ],
  async run({ values }) {
    if (values.leaderElect) electionOf(values)
    const access = await accessOf(values.kubeconfig)
    const log = createLog({ level: values.logLevel, component: 'controllers' })
    const clock = createMovableClock(clusterClock(realClock, values))
    const stopping = untilStopped()
    const starting = startControllersProgram({ ...values, access, servers: values.server, clock, log })
    const early = await Promise.race([starting, stopping])
    if ('again' in early) return 130
    log.info('ready')
    settle(realClock)
    const { again } = await stopping
    return await Promise.race([early.close().then(() => 0), again.then(() => 130)])
  },
})
