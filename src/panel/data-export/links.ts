import type { ExportedPerson } from '#privacy/data-export.ts'
import type { PageAction, PageContext } from '../route.ts'
import { canExportPerson, dataExportPath } from './download.ts'

/**
 * Links to a person's data export, for owners and for auditors with access to personal data: one to read, one for other
 * systems.
 */
export const dataExportActions = (person: ExportedPerson, { session, readModel }: PageContext): PageAction[] =>
  canExportPerson(session) && !readModel.moment
    ? [
        { label: 'Baixar dados (página)', to: dataExportPath(person, 'html') },
        { label: 'Baixar dados (JSON)', to: dataExportPath(person, 'json') },
      ]
    : []
