import type { Person } from '#audit/person-file.ts'
import type { PageAction, Visit } from '../route.ts'
import { ButtonLink } from '../ui/parts.tsx'
import { mayTakeFile, personFilePath } from './download.ts'

/** The same for the menu of a page. */
export const personFileActions = (person: Person, { session, readModel }: Visit): PageAction[] =>
  mayTakeFile(session) && !readModel.moment
    ? [
        { label: 'Baixar dados (página)', to: personFilePath(person, 'html') },
        { label: 'Baixar dados (JSON)', to: personFilePath(person, 'json') },
      ]
    : []

interface PersonFileLinksProps {
  readonly person: Person
  readonly visit: Visit
}

/** Where an owner, or an auditor who is told personal data, gets all that is held of a person, to read and for other systems. */
export const PersonFileLinks = ({ person, visit: { session, readModel } }: PersonFileLinksProps) =>
  mayTakeFile(session) && !readModel.moment ? (
    <>
      <ButtonLink to={personFilePath(person, 'html')}>Baixar dados (página)</ButtonLink>
      <ButtonLink to={personFilePath(person, 'json')}>Baixar dados (JSON)</ButtonLink>
    </>
  ) : null
