import type { Permission } from '#domain/permissions.ts'
import type { Refusal } from '#domain/refusal.ts'
import { type Grant, isRefusal, type Permit } from '#ledger/command.ts'

/** Grant of several permissions, or the first refusal. */
export function permitAll(permit: Permit, permissions: readonly Permission[]): Grant | Refusal {
  let grant: Grant = {}
  for (const permission of permissions) {
    const granted = permit(permission)
    if (isRefusal(granted)) return granted
    grant = { ...grant, ...granted }
  }
  return grant
}
