import type { ComponentChildren } from 'preact'
import { asset } from '../assets.ts'
import { link } from '../link.ts'
import { LIVE_PATH } from '../live.ts'
import type { PageContext } from '../route.ts'

interface LiveProps {
  readonly visit: PageContext
  /** The revision that the page shows. */
  readonly since: number
  readonly children: ComponentChildren
}

/**
 * Where scripts run, the page hears `mudou` on its body when the ledger moves beyond `since`; parts fetch themselves anew by
 * `hx-trigger="mudou from:body throttle:1s"`. One for a page.
 */
export const Live = ({ visit, since, children }: LiveProps) => (
  <div
    data-live={link(LIVE_PATH)}
    data-since={since}
    data-company={visit.readModel.companyId}
    data-worker={asset('live-worker.js')}
  >
    {children}
  </div>
)
