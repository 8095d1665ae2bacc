-- All metrics of an evaluation as JSON, and those of each class. Both are NULL if clients measured only loss and accuracy.
ALTER TABLE evaluations ADD COLUMN metric_values TEXT;
ALTER TABLE evaluations ADD COLUMN class_report TEXT;
