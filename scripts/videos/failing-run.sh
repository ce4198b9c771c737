# A kernel that adds products in saturating int16 pairs (VPMADDUBSW), and what is said of it.
run qconform run --backend defect:pair-sat-i16 --suite corpus
run qconform replay build/reports/run/F2.json --backend defect:pair-sat-i16
