import { option } from '../../shared/config/option.ts'
import { duration, path, wholeNumber } from '../../shared/config/option-types.ts'

const number = wholeNumber({ min: 0, max: 1_000_000, placeholder: 'NUMBER' })

/** These are upstream's flags of audit logs. */
export const auditOptions = {
  auditPolicyFile: option(path, { default: '', help: 'Policy of audit.k8s.io/v1: what is recorded of which requests' }),
  auditLogPath: option(path, { default: '', help: "File of the audit log; '-' is standard output" }),
  auditLogMaxage: option(number, { default: 0, help: 'Days that old files of the audit log are kept; 0: for ever' }),
  auditLogMaxbackup: option(number, { default: 0, help: 'Old files of the audit log that are kept; 0: all' }),
  auditLogMaxsize: option(number, { default: 100, help: 'Megabytes after which the audit log begins a new file' }),
  auditWebhookConfigFile: option(path, {
    default: '',
    help: 'Kubeconfig of a server that audit events are sent to, in batches',
  }),
  auditWebhookBatchMaxSize: option(number, { default: 400, help: 'Audit events of one batch at most' }),
  auditWebhookBatchMaxWait: option(duration, { default: 30_000, help: 'How long a batch of audit events waits' }),
}

export interface AuditFlags {
  auditPolicyFile: string
  auditLogPath: string
  auditLogMaxage: number
  auditLogMaxbackup: number
  auditLogMaxsize: number
  auditWebhookConfigFile: string
  auditWebhookBatchMaxSize: number
  auditWebhookBatchMaxWait: number
}
