import type { Person } from '#audit/person-file.ts'
import type { PageAction, Visit } from '../route.ts'
import { mayTakeFile, personFilePath } from './download.ts'

/** Where an owner, or an auditor who is told personal data, gets all that is held of a person, to read and for other systems. */
export const personFileActions = (person: Person, { session, readModel }: Visit): PageAction[] =>
  mayTakeFile(session) && !readModel.moment
    ? [
        { label: 'Baixar dados (página)', to: personFilePath(person, 'html') },
        { label: 'Baixar dados (JSON)', to: personFilePath(person, 'json') },
      ]
    : []
