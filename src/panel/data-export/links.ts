import type { ExportedPerson } from '#privacy/data-export.ts'
import type { PageAction, PageContext } from '../route.ts'
import { canExportPerson, dataExportPath } from './download.ts'

/** Where an owner, or an auditor who is told personal data, gets all that is held of a person, to read and for other systems. */
export const dataExportActions = (person: ExportedPerson, { session, readModel }: PageContext): PageAction[] =>
  canExportPerson(session) && !readModel.moment
    ? [
        { label: 'Baixar dados (página)', to: dataExportPath(person, 'html') },
        { label: 'Baixar dados (JSON)', to: dataExportPath(person, 'json') },
      ]
    : []
