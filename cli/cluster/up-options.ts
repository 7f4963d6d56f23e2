import { clusterOptions } from '../../cluster/settings.ts'
import { option } from '../../shared/config/option.ts'
import { flag } from '../../shared/config/option-types.ts'
import { outputOption } from '../terminal/output.ts'
import { uiActionsOption } from '../ui/actions-option.ts'

export const upOptions = {
  ...clusterOptions,
  detach: option(flag, {
    default: false,
    short: 'd',
    help: 'Return when the cluster is ready, and let it run; its state then stays in a file unless --storage says otherwise',
  }),
  ui: option(flag, {
    default: false,
    help: 'Print a one-time link to the page of the cluster, as kubestage ui does',
  }),
  uiActions: uiActionsOption,
  output: outputOption,
}
