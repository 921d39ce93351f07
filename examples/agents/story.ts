/** Some two hundred words, to watch a long answer stream, and to interrupt it. */
export const story = `There was once a carpenter who kept a ledger. Each morning he wrote down what he meant to do, and only then picked up his saw. \
His neighbours laughed, for they were faster: they cut first and remembered later.

One winter a storm tore the roofs from the whole street. The neighbours stood in the snow and argued. Had the doors been paid for? Were the \
legs of the long table cut, or only measured? Some built the same chair twice, and some never built it at all, each sure that another had.

The carpenter opened his ledger. Here stood a line: legs cut. Under it another: glue begun. He did not glue again what might be glued already; \
he walked over to the bench, touched the joint, and found it firm. Where the ledger only said what he had meant to do, he did it. Where it said \
that a thing was done, he let it be.

By spring his shop was the first one open. An apprentice asked him for the secret, expecting some trick of the hands. The old man laughed. \
"I am no faster than they are," he said. "I only write it down before I begin, and again when I am done. A storm can take the roof. It cannot \
take the place where I stopped."

And so the table was finished, and nobody had to pay for it twice.`
