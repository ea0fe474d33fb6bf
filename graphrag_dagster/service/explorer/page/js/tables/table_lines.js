// @ts-check

/** Tables that people look for, the first of them first. */
export const FIRST_TABLES = ["entities", "communities", "documents", "files", "quarantine", "runs"];

/** @type {Record<string, string>} what is in a table, in a line */
export const TABLE_LINES = {
  entities: "People, places, organisations and things that the texts name.",
  communities: "Entities that belong together, each with a report.",
  documents: "What was read, with its text.",
  files: "Every file that was found, and what became of it.",
  quarantine: "What was extracted and could not be used, with the reason.",
  runs: "Model calls of each run, and their cost.",
  relationships: "Which entities are told of together, and how strongly.",
  triples: "Statements as subject, relation and object.",
  claims: "What the texts claim of entities: true, false or suspected.",
  metadata: "Dates, authors and whatever else files say of themselves.",
  periods: "Days and periods of time that documents are of.",
  text_units: "The stretches of text that were read at once.",
  names: "Which names were taken for one, by whom, and why.",
  summary: "Every count of the corpus in one place.",
  context_sizes: "How much text each search method reads.",
  models: "The same by step and model.",
};

/** @type {Record<string, string>} what it means that a table is empty */
export const EMPTY_TABLES = {
  quarantine: "Nothing was put aside: all that was extracted could be used.",
  runs: "No run has called a model.",
  models: "No run has called a model.",
  claims: "No claims were extracted. The settings of the corpus say whether they are looked for.",
};
