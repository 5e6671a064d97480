"""What RXNMapper makes of reactions: for spec/peers/atoms.lua.

    python3 spec/peers/map_atoms.py

Needs the package rxnmapper (0.4.3, with transformers 4). Prints a JSON line a reaction: as the model reads it, the
reactant's atom of each atom of the products (from 0, -1 is none), the confidence.
"""

import json

from rxn.chemutils.reaction_smiles import ReactionFormat, parse_any_reaction_smiles, to_reaction_smiles
from rxnmapper import RXNMapper
from rxnmapper.smiles_utils import process_reaction

CANONICAL = [
    "CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+].[K+]>>CC(C)Sc1ncccc1F",
    "C1COCCO1.CC(C)(C)OC(=O)CONC(=O)NCc1cccc2ccccc12.Cl>>O=C(O)CONC(=O)NCc1cccc2ccccc12",
    "C=CCN=C=S.CNCc1ccc(C#N)cc1.NNC(=O)c1cn2c(n1)CCCC2>>C=CCN1C(C2=CN3CCCCC3=N2)=NN=C1N(C)CC1=CC=C(C#N)C=C1",
    "CC[O-]~[Na+].BrCC.[Na+]~[H-]>>CCOCC",
    "CC[O-].[Na+].BrCC.[Na+].[H-]>>CCOCC |f:0.1,3.4|",
    "CCOCC.[Na+]~[Br-]>>CC[O-]~[Na+].BrCC",
]
AS_WRITTEN = ["C(C)O.BrC(C)>>CCOCC", "CCO.BrCFC>>CCOCFC", "COC(=O)CCBr.O=C[O-]->[K+]>>COC(=O)CCOC(=O)C",
              "[1*]C=C.O>>*CCO"]

mapper = RXNMapper()
for reactions, canonical in ((CANONICAL, True), (AS_WRITTEN, False)):
    results = mapper.get_attention_guided_atom_maps(reactions, canonicalize_rxns=canonical, detailed_output=True)
    for reaction, result in zip(reactions, results):
        parsed = parse_any_reaction_smiles(reaction)
        read = process_reaction(parsed) if canonical else parsed
        print(json.dumps({"reaction": to_reaction_smiles(read, reaction_format=ReactionFormat.STANDARD_WITH_TILDE),
                          "atoms": result["pxr_mapping_vector"], "confidence": result["confidence"]}))
